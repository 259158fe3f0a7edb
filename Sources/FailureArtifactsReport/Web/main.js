// The page: one failure at a time, addresses, and keys.

const articles = [...document.querySelectorAll("article.failure")];
const stories = new Map();
let shown = null;

/** Replaces the page's address, without a new entry in the browser's history. */
const remember = (id, address) => {
  if (shown?.id !== id) return;
  const hash = `#${id}${address ? "/" + address : ""}`;
  if (location.hash !== hash) history.replaceState(null, "", hash);
};

/** Shows a failure, at an address in it if there is one. */
const showFailure = async (id, address) => {
  const article = document.getElementById(id);
  if (!article) return;
  shown = article;
  for (const other of articles) other.hidden = other !== article;
  list.mark(id);
  closeList();
  const outline = article.dataset.outline;
  if (!outline) { remember(id, ""); return; }
  let story = stories.get(id);
  if (!story) {
    let content;
    try {
      content = await block(outline);
    } catch {
      // A browser without DecompressionStream shows the page as it is without a script.
      remember(id, "");
      return;
    }
    if (shown !== article) return;
    story = stories.get(id) ?? new Story(article, content, (place) => remember(id, place));
    stories.set(id, story);
    if (!address) { await story.openFirst(); return; }
  }
  if (address) await story.openAddress(address); else remember(id, story.address);
};

const list = new FailureList((id) => {
  showFailure(id);
  document.getElementById("failures").scrollTop = 0;
  scrollTo(0, 0);
});

// A narrow page has the list behind a button.
const listButton = document.getElementById("open-list");
const closeList = () => {
  document.body.classList.remove("list-open");
  listButton.setAttribute("aria-expanded", "false");
};
if (articles.length > 1) {
  listButton.hidden = false;
  listButton.setAttribute("aria-controls", "list");
  listButton.setAttribute("aria-expanded", "false");
  listButton.addEventListener("click", () => {
    const isOpen = document.body.classList.toggle("list-open");
    listButton.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) document.querySelector("#list a")?.focus();
  });
} else {
  document.body.classList.add("one-failure");
}

const follow = (url) => {
  const [id, ...address] = new URL(url).hash.slice(1).split("/");
  showFailure(document.getElementById(id)?.matches("article") ? id : list.described[0]?.id ?? articles[0]?.id, address.join("/"));
};
// The event comes later than the click. Until then, the shown failure may have replaced the page's own address.
addEventListener("hashchange", (event) => follow(event.newURL));

addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input:not([type=range]), textarea, select");
  if (event.key === "Escape") {
    if (isTyping) event.target.blur();
    closeList();
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const story = shown && stories.get(shown.id);
  const isFree = !event.target.closest("td[data-column], input[type=range], .grid");
  const actions = {
    j: () => list.step(1), k: () => list.step(-1),
    "/": () => { (list.search.parentElement.hidden ? story?.element.querySelector(".store-search") : list.search)?.focus(); },
    ...(isFree && story ? {
      ArrowLeft: () => story.step(-1), ArrowRight: () => story.step(1),
      Home: () => story.step(-Infinity), End: () => story.step(Infinity),
    } : {}),
  };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

for (const name of document.querySelectorAll("h2, #list b, .place code"))
  name.replaceChildren(...breakable(name.textContent));
document.documentElement.classList.add("with-script");
if (articles.length) follow(location.href);
