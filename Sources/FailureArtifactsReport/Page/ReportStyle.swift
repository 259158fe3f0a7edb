/// The style of the page.
enum ReportStyle {
    /// SHA-256 of ``text``, in Base64; a test computes it.
    static let hash = "+gFgepa7F/mRBO8OX/rn57jMfp97m2oK4CVdrrg9P+M="

    static let text = #"""
        :root { color-scheme: light dark;
          --page: #f6f7f9; --card: #ffffff; --text: #1c2430; --dim: #566173; --line: #d5dae2; --link: #0b57b0;
          --bar: #4577b8; --bad: #b3261e; --warn: #7a4b00; --warnbg: #fff4df; --good: #17663a; --code: #eef1f5;
          --ins: #dff3e4; --del: #fce4e2; --head: #e4ecf7; }
        @media (prefers-color-scheme: dark) { :root {
          --page: #12161c; --card: #1b212a; --text: #e6eaf0; --dim: #a4afbf; --line: #37414f; --link: #8ab8f5;
          --bar: #6d9fdd; --bad: #ff9d94; --warn: #f2c679; --warnbg: #33290f; --good: #7fd6a0; --code: #252d38;
          --ins: #173a26; --del: #4a211f; --head: #26344a; } }
        * { box-sizing: border-box; }
        body { margin: 0 auto; padding: 0 1rem 3rem; max-width: 84rem; background: var(--page); color: var(--text);
          font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif; overflow-wrap: anywhere; }
        h1, h2, h3, h4, p, ul, ol, pre, figure { margin: 0; }
        h1 { font-size: 1.35rem; } h2 { font-size: 1.05rem; } h3 { font-size: 1rem; } h4 { font-size: .93rem; }
        header { padding: 1.2rem 0 1rem; } header p, .dim, .cut, footer { color: var(--dim); }
        footer { padding-top: 1.5rem; font-size: .85rem; }
        code, pre, .changes, .grid table { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; font-size: .86em; }
        a { color: var(--link); }
        :focus-visible { outline: 3px solid var(--link); outline-offset: 1px; }
        .skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .3rem .6rem; }
        .overview { display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: .8rem; margin-bottom: .8rem; }
        .card, .index, .failure { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
        .card, .index { padding: .8rem 1rem; } .card h2, .index h2 { margin-bottom: .4rem; }
        .index { margin-bottom: .8rem; } .index ol { padding-left: 2.2rem; } .index li { padding: .15rem 0; }
        .index .line { display: block; color: var(--dim); font-size: .9em; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
        .search input, .tools input { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--dim);
          border-radius: 6px; padding: .25rem .5rem; max-width: 100%; }
        .failure { margin-bottom: .8rem; }
        .failure > summary { padding: .7rem 1rem; cursor: pointer; } .failure > summary h2 { display: inline; margin: 0 .5rem; }
        .failure[open] > summary { border-bottom: 1px solid var(--line); }
        .body { padding: 1rem; display: grid; gap: .8rem; grid-template-columns: minmax(0, 1fr); }
        .store { display: grid; gap: .7rem; grid-template-columns: minmax(0, 1fr); padding-top: .9rem; border-top: 1px solid var(--line); }
        .store h4 { margin-top: .5rem; }
        .badge { display: inline-block; font-size: .78rem; font-weight: 600; padding: 0 .5rem; border-radius: 1rem; border: 1px solid currentcolor; color: var(--bad); }
        .badge.timedOut, .badge.terminated { color: var(--warn); }
        .count { font-weight: 600; color: var(--dim); }
        .message pre { white-space: pre-wrap; background: var(--del); border-left: 4px solid var(--bad); border-radius: 4px; padding: .6rem .8rem; font-size: .92em; }
        .findings li { overflow-wrap: anywhere; padding-bottom: .4rem; } .findings ol, .findings ul { padding-left: 1.4rem; }
        .findings .certain > strong, .findings .likely > strong { color: var(--bad); }
        .message figcaption { padding-top: .25rem; }
        .warnings { background: var(--warnbg); color: var(--warn); border-radius: 6px; padding: .5rem .8rem .5rem 2rem; }
        .facts { font-size: .9em; color: var(--dim); } .facts span:not(:last-child)::after { content: " · "; }
        .scroll { overflow: auto; max-width: 100%; } .statements { max-height: 24rem; }
        table { border-collapse: collapse; } caption { text-align: left; padding: .3rem 0; }
        th, td { text-align: left; vertical-align: top; padding: .15rem .7rem .15rem 0; }
        .num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        .scroll tbody tr { border-top: 1px solid var(--line); } .scroll thead th { color: var(--dim); font-weight: 600; white-space: nowrap; }
        .bars { width: 100%; table-layout: auto; } .bars th { font-weight: 400; width: 1%; max-width: 12rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
        .store .bars { max-width: 48rem; }
        .bars .num { width: 1%; } .bars td.bar { min-width: 5rem; padding-right: 0; } .bars svg { display: block; margin-top: .35rem; }
        .bars rect, .times rect { fill: var(--bar); } .times { width: 100%; height: auto; max-height: 9rem; }
        .times line, .lanes line { stroke: var(--line); } .times text, .lanes text { fill: var(--dim); font-size: 11px; }
        .lanes rect.run { fill: var(--bar); } .lanes rect.commit { fill: var(--good); } .lanes rect.failed { fill: var(--bad); }
        .lanes line.end { stroke: var(--bad); stroke-width: 2; } .lanes text.end { fill: var(--bad); }
        .earlier { color: var(--dim); } .commit { color: var(--good); font-weight: 600; } .error { color: var(--bad); }
        tr.end td { color: var(--bad); font-weight: 600; }
        .timeline { list-style: none; padding: 0 0 0 .5rem; margin-left: .3rem; border-left: 2px solid var(--line); display: grid; gap: .2rem; grid-template-columns: minmax(0, 1fr); }
        .timeline li { position: relative; padding-left: .8rem; }
        .timeline li::before { content: ""; position: absolute; left: calc(-.5rem - 6px); top: .5em; width: 10px; height: 10px; border-radius: 50%; background: var(--good); }
        .timeline .end { color: var(--bad); font-weight: 600; } .timeline .end::before { background: var(--bad); }
        img { max-width: 100%; height: auto; border: 1px solid var(--line); }
        summary { cursor: pointer; } .part > summary h3, .part > summary h4 { display: inline; margin: 0; }
        .part[open] > summary { margin-bottom: .5rem; } .part ul { margin-top: .5rem; }
        .changes th { white-space: nowrap; font-weight: 600; } .changes .cells span { margin-right: 1rem; }
        .changes b { font-weight: 400; color: var(--dim); } .sign { display: inline-block; width: 1rem; }
        ins { background: var(--ins); text-decoration: none; padding: 0 .2rem; border-radius: 3px; }
        del { background: var(--del); text-decoration: none; padding: 0 .2rem; border-radius: 3px; }
        .inserted .sign { color: var(--good); } .deleted .sign { color: var(--bad); }
        .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
        .sql { background: var(--code); border-radius: 6px; padding: .6rem .8rem; overflow: auto; max-height: 26rem; white-space: pre-wrap; }
        .rows { border: 1px solid var(--line); border-radius: 6px; } .rows > summary { padding: .35rem .7rem; }
        .rows > .cut, .rows > .warnings { margin: .2rem .7rem; } .rows .cut { font-size: .9em; }
        .tools { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; padding: .4rem .7rem; }
        button { font: inherit; color: inherit; background: var(--code); border: 1px solid var(--dim); border-radius: 6px; padding: .2rem .6rem; cursor: pointer; }
        button:disabled { opacity: .45; cursor: default; }
        .grid { overflow: auto; max-height: 32rem; border-top: 1px solid var(--line); }
        .grid table { min-width: min(100%, 36rem); } .grid th, .grid td { padding: .15rem .7rem; border-bottom: 1px solid var(--line); max-width: 30rem; white-space: pre-wrap; }
        .grid thead th { position: sticky; top: 0; background: var(--head); white-space: nowrap; padding: 0; }
        .grid thead button { background: none; border: 0; border-radius: 0; width: 100%; text-align: left; font-weight: 600; padding: .25rem .7rem; }
        .grid thead .num button { text-align: right; }
        .statements thead th { position: sticky; top: 0; background: var(--card); }
        .statements td:first-child { white-space: nowrap; }
        .notes { font-size: .92em; color: var(--dim); } .scroll > .notes { padding-left: 1.2rem; }
        .plan { margin: 0; white-space: pre-wrap; }
        .grid .null, .grid .blob, .grid .more { color: var(--dim); font-style: italic; } .grid .escape { color: var(--bad); }
        .erd { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; font-size: 13px; display: block; }
        .erd text { fill: var(--text); } .erd .box { fill: var(--card); stroke: var(--dim); } .erd .head { fill: var(--head); }
        .erd .name, .erd .key { font-weight: 700; } .erd .link { fill: var(--link); } .erd .type { fill: var(--dim); font-size: 11px; }
        .erd .edge { fill: none; stroke: var(--link); stroke-width: 1.5; } .erd .edge-end { fill: var(--link); }
        .relations { columns: 22rem; padding-left: 1.2rem; }
        @media (max-width: 40rem) { main { display: flex; flex-direction: column; } .overview { order: 1; } #failures { order: 2; }
          .statements th:nth-child(2) { max-width: 3.2rem; overflow: hidden; text-overflow: ellipsis; }
          .fine { display: none; }
          .statements td:nth-child(3) { min-width: 12rem; } .statements td:nth-child(-n + 2) { padding-right: .5rem; }
          body { padding: 0 .5rem 2rem; font-size: 14px; } .body, .card, .index { padding: .7rem; } .index ol { padding-left: 1.6rem; } }
        @media print { .grid, .sql, .statements { max-height: none; } }

        """#
}
