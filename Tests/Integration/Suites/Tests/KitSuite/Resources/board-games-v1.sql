-- The store of App V1.
CREATE TABLE publisher (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL);
CREATE TABLE game (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    players TEXT NOT NULL, -- such as 2-4
    publisherID INTEGER REFERENCES publisher (id) ON DELETE RESTRICT
);
CREATE INDEX game_title ON game (title);
