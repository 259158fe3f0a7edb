"""Makes stores as Core Data lays them out; see CoreDataStores.md for where that layout is known from.

    store.py PATH [history] [after]
"""

import plistlib
import sqlite3
import sys

LAYOUT = """
CREATE TABLE ZBASKET ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCAPACITY INTEGER,
  ZMADEAT TIMESTAMP, ZNAME VARCHAR );
CREATE TABLE ZFRUIT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCOUNT INTEGER, ZISRIPE INTEGER,
  ZBASKET INTEGER, Z_FOK_BASKET INTEGER, ZSEEDS INTEGER, ZGROWER INTEGER, Z4_GROWER INTEGER,
  ZPICKEDAT TIMESTAMP, ZWEIGHT FLOAT, ZPRICE DECIMAL, ZNAME VARCHAR, ZIDENTIFIER BLOB, ZPHOTO BLOB, ZCOLOR BLOB );
CREATE INDEX ZFRUIT_ZBASKET_INDEX ON ZFRUIT (ZBASKET);
CREATE INDEX ZFRUIT_ZGROWER_INDEX ON ZFRUIT (ZGROWER);
CREATE TABLE ZPERSON ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR, ZACRES FLOAT );
CREATE TABLE ZTAG ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR );
CREATE TABLE Z果物屋 ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, Z開店日 TIMESTAMP, Z名前 VARCHAR );
CREATE TABLE Z_2TAGS ( Z_2FRUITS INTEGER, Z_6TAGS INTEGER, Z_FOK_6TAGS INTEGER, PRIMARY KEY (Z_2FRUITS, Z_6TAGS) );
CREATE INDEX Z_2TAGS_Z_6TAGS_INDEX ON Z_2TAGS (Z_6TAGS, Z_2FRUITS);
CREATE TABLE Z_4FRIENDS ( Z_4FRIENDS INTEGER, REFLEXIVE INTEGER, PRIMARY KEY (Z_4FRIENDS, REFLEXIVE) );
CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
INSERT INTO Z_PRIMARYKEY VALUES (1, 'Basket', 0, 2), (2, 'Fruit', 0, 3), (3, 'Citrus', 2, 0), (4, 'Person', 0, 2),
  (5, 'Farmer', 4, 0), (6, 'Tag', 0, 2), (7, '果物屋', 0, 1);
"""

# Persistent history: tables that begin with an A, of entities that are not the model's.
HISTORY = """
CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, ZENTITY INTEGER,
  ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB );
CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER,
  ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR,
  ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR, ZQUERYGEN BLOB );
CREATE TABLE ATRANSACTIONSTRING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR );
CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID);
CREATE INDEX ATRANSACTION_ZAUTHORTS_INDEX ON ATRANSACTION (ZAUTHORTS);
CREATE UNIQUE INDEX Z_TRANSACTIONSTRING_UNIQUE_NAME ON ATRANSACTIONSTRING (ZNAME COLLATE BINARY ASC);
INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 2), (16002, 'TRANSACTION', 0, 1),
  (16003, 'TRANSACTIONSTRING', 0, 1);
INSERT INTO ATRANSACTIONSTRING VALUES (1, 16003, 1, 'importer');
"""

UUID = "5E1B4F0C-8A3E-4B5E-9C57-2B7A1C0D9E11"
ENTITIES = ("Basket", "Fruit", "Citrus", "Person", "Farmer", "Tag", "果物屋")
# The day of the examples: 2026-11-21T07:08:09.25Z, in seconds since 2001-01-01.
DATE = 1795244889.25 - 978307200


def metadata():
    """What Core Data keeps in Z_PLIST."""
    return plistlib.dumps({
        "NSPersistenceFrameworkVersion": 1414,
        "NSStoreModelVersionHashes": {name: bytes([index]) * 32 for index, name in enumerate(ENTITIES)},
        "NSStoreModelVersionHashesVersion": 3, "NSStoreModelVersionIdentifiers": ["Fruits V2"],
        "NSStoreType": "SQLite", "_NSAutoVacuumLevel": "2"}, fmt=plistlib.FMT_BINARY)


def build(path, history=False):
    database = sqlite3.connect(path)
    database.executescript(LAYOUT + (HISTORY if history else ""))
    if history:
        database.execute(
            "INSERT INTO ATRANSACTION (Z_PK, Z_ENT, Z_OPT, ZAUTHORTS, ZTIMESTAMP) VALUES (1, 16002, 1, 1, ?)", (DATE,))
        database.executemany("INSERT INTO ACHANGE VALUES (?, 16001, 1, 0, 2, ?, 1, NULL)", [(1, 1), (2, 2)])
    external = b"\x02" + UUID.encode() + b"\x00"
    inline = b"\x01" + b"\x89PNG"
    color = plistlib.dumps({"$archiver": "NSKeyedArchiver", "$top": {}}, fmt=plistlib.FMT_BINARY)
    database.execute("INSERT INTO Z_METADATA VALUES (1, ?, ?)", (UUID, metadata()))
    database.executemany("INSERT INTO ZBASKET VALUES (?, 1, 1, ?, ?, ?)",
                         [(1, 10, DATE, "red"), (2, None, None, "みかん箱")])
    database.executemany(
        "INSERT INTO ZFRUIT VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(1, 2, 3, 1, 1, 2048, None, 1, 4, DATE, 0.5, 1.25, "りんご", bytes(range(16)), external, color),
         (2, 3, 5, 0, 1, 1024, 8, 2, 5, -978307200, None, 3, "みかん", None, inline, None),
         (3, 2, None, None, None, None, None, None, None, None, None, None, None, None, None, None)])
    database.executemany("INSERT INTO ZPERSON VALUES (?, ?, 1, ?, ?)", [(1, 4, "Ann", None), (2, 5, "Bob", 7.5)])
    database.executemany("INSERT INTO ZTAG VALUES (?, 6, 1, ?)", [(1, "sweet"), (2, "round")])
    database.execute("INSERT INTO Z果物屋 VALUES (1, 7, 1, 0, '八百屋')")
    database.executemany("INSERT INTO Z_2TAGS VALUES (?, ?, ?)", [(1, 1, 2048), (1, 2, 1024), (2, 2, 1024)])
    database.execute("INSERT INTO Z_4FRIENDS VALUES (2, 1)")
    database.commit()
    return database


# What a test does after that: a fruit more, one that moves and one that goes, a tag that is taken away.
CHANGES = f"""
INSERT INTO ZFRUIT (Z_PK, Z_ENT, Z_OPT, ZCOUNT, ZISRIPE, ZBASKET, ZNAME, ZPICKEDAT)
  VALUES (4, 3, 1, 1, 1, 2, 'ゆず', {DATE});
UPDATE ZFRUIT SET ZBASKET = 2, ZPICKEDAT = {DATE + 60}, Z_OPT = 2 WHERE Z_PK = 1;
DELETE FROM ZFRUIT WHERE Z_PK = 3;
DELETE FROM Z_2TAGS WHERE Z_2FRUITS = 1 AND Z_6TAGS = 1;
UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_ENT = 2;
"""

# What persistent history adds for them.
CHANGES_OF_HISTORY = f"""
INSERT INTO ATRANSACTION (Z_PK, Z_ENT, Z_OPT, ZAUTHORTS, ZTIMESTAMP) VALUES (2, 16002, 1, 1, {DATE + 60});
INSERT INTO ACHANGE VALUES (3, 16001, 1, 0, 2, 4, 2, NULL), (4, 16001, 1, 1, 2, 1, 2, NULL),
  (5, 16001, 1, 2, 2, 3, 2, NULL);
UPDATE Z_PRIMARYKEY SET Z_MAX = 5 WHERE Z_ENT = 16001;
UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_ENT = 16002;
"""

if __name__ == "__main__":
    has_history = "history" in sys.argv[2:]
    made = build(sys.argv[1], has_history)
    if "after" in sys.argv[2:]:
        made.executescript(CHANGES + (CHANGES_OF_HISTORY if has_history else ""))
    made.close()
