"""Makes a store as Core Data does, with the model in Z_MODELCACHE; see CoreDataStores.md for where that is known from.

    model_store.py PATH [after] [namesakes]
"""

import plistlib
import sqlite3
import sys
import zlib

# The day of the examples: 2026-11-21T07:08:09.25Z, and a day in 1999, in seconds since 2001-01-01.
DATE = 1795244889.25 - 978307200
EARLY = 920000000.5 - 978307200

UUID = "5E1B4F0C-8A3E-4B5E-9C57-2B7A1C0D9E11"
OTHER_UUID = "0A0B0C0D-1122-3344-5566-778899AABBCC"

# The values of NSAttributeType.
INTEGER32, INTEGER64, DOUBLE, STRING, BOOLEAN, DATE_TYPE, BINARY, UUID_TYPE, URI, TRANSFORMABLE = (
    200, 300, 500, 700, 800, 900, 1000, 1100, 1200, 1800)


class Archive:
    """An archive of NSKeyedArchiver: objects that refer to each other by their positions."""

    def __init__(self):
        self.objects, self.classes = ["$null"], {}

    def add(self, value):
        self.objects.append(value)
        return plistlib.UID(len(self.objects) - 1)

    def of_class(self, name):
        if name not in self.classes:
            self.classes[name] = self.add({"$classname": name, "$classes": [name, "NSObject"]})
        return self.classes[name]

    def object(self, class_name, **fields):
        return self.add({"$class": self.of_class(class_name), **fields})

    def dictionary(self, pairs, class_name="NSMutableDictionary"):
        return self.object(class_name, **{
            "NS.keys": [self.add(key) for key in pairs], "NS.objects": list(pairs.values())})

    def data(self, root):
        return plistlib.dumps({
            "$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": root}, "$objects": self.objects,
        }, fmt=plistlib.FMT_BINARY)


# Each entity: its superentity, its attributes, and its relationships with their targets, inverses and maximum counts.
MODEL = {
    "Album": (None, {
        "title": STRING, "createdAt": DATE_TYPE, "photoCount": ("derived", INTEGER64),
        "lastChange": ("derived", DATE_TYPE), "draft": ("transient", STRING),
    }, {"photos": ("Photo", "album", 0), "cover": ("Cover", "album", 1)}),
    "Cover": (None, {"_color": STRING}, {"album": ("Album", "cover", 1)}),
    "Item": (None, {"name": STRING, "identifier": UUID_TYPE, "webPage": URI, "isHidden": BOOLEAN}, {}),
    "Photo": ("Item", {"size": INTEGER32, "takenAt": DATE_TYPE, "content": BINARY, "camera": TRANSFORMABLE}, {
        "album": ("Album", "photos", 1), "tags": ("Tag", "taggedPhotos", 0)}),
    "Video": ("Item", {"size": DOUBLE, "takenAt": DATE_TYPE}, {"poster": ("Photo", None, 1)}),
    "Tag": (None, {"label": STRING}, {"taggedPhotos": ("Photo", "tags", 0)}),
}
NUMBERS = {name: number for number, name in enumerate(MODEL, 1)}


def model_cache():
    """The model as Core Data archives it, compressed without a header."""
    archive = Archive()
    root = archive.add(None)
    entities = {name: archive.add(None) for name in MODEL}

    def property_of(entity, name, content):
        # A relationship has a target, an inverse and a maximum count; an attribute has a type.
        common = {
            "NSPropertyName": archive.add(name), "NSEntity": entities[entity], "NSIsOptional": True, "_P": 243}
        if isinstance(content, tuple) and len(content) == 3:
            target, inverse, count = content
            return archive.object(
                "NSRelationshipDescription", NSDestinationEntity=entities[target],
                _NSDestinationEntityName=archive.add(target),
                _NSInverseRelationshipName=archive.add(inverse) if inverse else plistlib.UID(0),
                NSMaxCount=count, NSMinCount=0, NSDeleteRule=1, **common)
        mark, kind = content if isinstance(content, tuple) else (None, content)
        if mark == "transient":
            common["NSIsTransient"] = True
        return archive.object(
            "NSDerivedAttributeDescription" if mark == "derived" else "NSAttributeDescription",
            NSAttributeType=archive.add(kind), NSDefaultValue=plistlib.UID(0), NSFlagsKey=archive.add(0), **common)

    def contents(name):
        superentity, attributes, relationships = MODEL[name]
        inherited = contents(superentity) if superentity else {}
        return {**inherited, **attributes, **relationships}

    for name, (superentity, _, _) in MODEL.items():
        archive.objects[entities[name].data] = {
            "$class": archive.of_class("NSEntityDescription"), "NSEntityName": archive.add(name),
            "NSSuperentity": entities[superentity] if superentity else plistlib.UID(0),
            "NSManagedObjectModel": root,
            "NSProperties": archive.dictionary(
                {key: property_of(name, key, content) for key, content in contents(name).items()})}
    archive.objects[root.data] = {
        "$class": archive.of_class("NSManagedObjectModel"),
        "NSEntities": archive.object("NSKnownKeysDictionary1", values=list(entities.values())),
        "NSVersionIdentifiers": archive.object("NSSet", **{"NS.objects": [archive.add("Albums V3")]})}
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(archive.data(root)) + compressor.flush()


def camera(model, lenses):
    """A transformable value: an object of the application with a text, a list and a dictionary."""
    archive = Archive()
    root = archive.add(None)
    fields = {
        "model": archive.add(model), "owner": plistlib.UID(0),
        "lenses": archive.object("NSArray", **{"NS.objects": [archive.add(lens) for lens in lenses]}),
        "settings": archive.dictionary({"iso": archive.add(400), "flash": archive.add(False)}),
        "boughtAt": archive.object("NSDate", **{"NS.time": EARLY}),
        "manual": archive.object("NSURL", **{
            "NS.base": plistlib.UID(0), "NS.relative": archive.add("https://example.com/manual")})}
    archive.objects[root.data] = {"$class": archive.of_class("Demo.Camera"), **fields}
    return archive.data(root)


def trigger(table, entity, attribute, event, sql):
    """A trigger of a derived attribute. It calls functions that only Core Data's connections have."""
    column = "Z" + attribute.upper()
    return (
        f"CREATE TRIGGER IF NOT EXISTS Z_DA_{table}_{entity}_{attribute}_{event.split()[0]} AFTER {event} ON {table} "
        f"FOR EACH ROW BEGIN {sql} SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('{table}', Z_ENT, Z_PK, "
        f"'{attribute}', {column}) FROM {table} WHERE Z_PK = NEW.Z_PK; END;\n")


LAYOUT = """
PRAGMA auto_vacuum = 2;
CREATE TABLE ZALBUM ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPHOTOCOUNT INTEGER, ZCOVER INTEGER,
  ZCREATEDAT TIMESTAMP, ZLASTCHANGE TIMESTAMP, ZTITLE VARCHAR );
CREATE TABLE ZCOVER ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZALBUM INTEGER, Z_COLOR VARCHAR );
CREATE TABLE ZITEM ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZISHIDDEN INTEGER, ZSIZE INTEGER,
  ZALBUM INTEGER, Z_FOK_ALBUM INTEGER, ZPOSTER INTEGER, ZTAKENAT TIMESTAMP, ZSIZE1 FLOAT, ZTAKENAT1 TIMESTAMP,
  ZNAME VARCHAR, ZWEBPAGE VARCHAR, ZIDENTIFIER BLOB, ZCAMERA BLOB, ZCONTENT BLOB );
CREATE TABLE Z_4TAGS ( Z_4TAGGEDPHOTOS INTEGER, Z_6TAGS INTEGER, PRIMARY KEY (Z_4TAGGEDPHOTOS, Z_6TAGS) );
CREATE TABLE ZTAG ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZLABEL VARCHAR );
CREATE INDEX ZALBUM_ZCOVER_INDEX ON ZALBUM (ZCOVER);
CREATE INDEX ZCOVER_ZALBUM_INDEX ON ZCOVER (ZALBUM);
CREATE INDEX ZITEM_ZALBUM_INDEX ON ZITEM (ZALBUM);
CREATE INDEX ZITEM_ZPOSTER_INDEX ON ZITEM (ZPOSTER);
CREATE INDEX Z_4TAGS_Z_6TAGS_INDEX ON Z_4TAGS (Z_6TAGS, Z_4TAGGEDPHOTOS);
CREATE UNIQUE INDEX Z_Item_UNIQUE_identifier ON ZITEM (ZIDENTIFIER COLLATE BINARY ASC);
CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, ZENTITY INTEGER,
  ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB, ZTOMBSTONE0 BLOB );
CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER,
  ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR,
  ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR, ZQUERYGEN BLOB );
CREATE TABLE ATRANSACTIONSTRING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR );
CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID);
CREATE INDEX ATRANSACTION_ZAUTHORTS_INDEX ON ATRANSACTION (ZAUTHORTS);
CREATE INDEX ATRANSACTION_ZBUNDLEIDTS_INDEX ON ATRANSACTION (ZBUNDLEIDTS);
CREATE INDEX ATRANSACTION_ZCONTEXTNAMETS_INDEX ON ATRANSACTION (ZCONTEXTNAMETS);
CREATE INDEX ATRANSACTION_ZPROCESSIDTS_INDEX ON ATRANSACTION (ZPROCESSIDTS);
CREATE INDEX Z_TRANSACTION_TransactionAuthorIndex ON ATRANSACTION (ZAUTHOR COLLATE BINARY ASC);
CREATE INDEX Z_TRANSACTION_TransactionTimestampIndex ON ATRANSACTION (ZTIMESTAMP COLLATE BINARY ASC);
CREATE UNIQUE INDEX Z_TRANSACTIONSTRING_UNIQUE_NAME ON ATRANSACTIONSTRING (ZNAME COLLATE BINARY ASC);
"""

TRIGGERS = trigger(
    "ZALBUM", "Album", "lastChange", "UPDATE OF Z_OPT",
    "UPDATE ZALBUM SET ZLASTCHANGE = NSCoreDataNow() WHERE Z_PK = NEW.Z_PK;") + trigger(
    "ZITEM", "Album", "photoCount", "INSERT",
    "UPDATE ZALBUM SET ZPHOTOCOUNT = IFNULL(ZPHOTOCOUNT, 0) + 1 WHERE Z_PK = NEW.ZALBUM;").replace(
    "ZPHOTOCOUNT) FROM ZITEM WHERE Z_PK = NEW.Z_PK", "ZPHOTOCOUNT) FROM ZALBUM WHERE Z_PK = NEW.ZALBUM")


def blob(uuid):
    return bytes.fromhex(uuid.replace("-", ""))


def build(path, after=False, namesakes=False):
    """Makes the store; with `after`, as it is after a test has changed it.

    With `namesakes`, the entity Tag has a second attribute, whose name differs from the first one's only in case.
    """
    if namesakes:
        MODEL["Tag"][1]["Label"] = INTEGER32
    database = sqlite3.connect(path)
    for name, count in (("NSCoreDataNow", 0), ("NSCoreDataDATriggerUpdatedAffectedObjectValue", 5)):
        database.create_function(name, count, lambda *values: DATE + 60 if not values else None)
    database.executescript(LAYOUT + TRIGGERS)
    supers = {name: NUMBERS.get(superentity, 0) for name, (superentity, _, _) in MODEL.items()}
    keys = [(NUMBERS[name], name, supers[name], 3) for name in MODEL]
    keys += [(16001, "CHANGE", 0, 2), (16002, "TRANSACTION", 0, 1), (16003, "TRANSACTIONSTRING", 0, 2)]
    database.executemany("INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, ?)", keys)
    metadata = plistlib.dumps({
        "NSPersistenceFrameworkVersion": 1145, "NSStoreType": "SQLite", "_NSAutoVacuumLevel": "2",
        "NSStoreModelVersionHashes": {name: bytes([number]) * 32 for name, number in NUMBERS.items()},
        "NSStoreModelVersionHashesDigest": "digest", "NSStoreModelVersionHashesVersion": 3,
        "NSStoreModelVersionIdentifiers": ["Albums V3"]}, fmt=plistlib.FMT_BINARY)
    database.execute("INSERT INTO Z_METADATA VALUES (1, ?, ?)", (UUID, metadata))
    database.execute("INSERT INTO Z_MODELCACHE VALUES (?)", (model_cache(),))
    database.execute("INSERT INTO ZALBUM VALUES (1, 1, 1, 0, 1, ?, ?, '旅行')", (EARLY, DATE))
    database.execute("INSERT INTO ZCOVER VALUES (1, 2, 1, 1, 'red')")
    external = b"\x02" + UUID.encode() + b"\x00"
    row = ("INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZISHIDDEN, ZSIZE, ZALBUM, ZPOSTER, ZTAKENAT, ZSIZE1, ZTAKENAT1, ZNAME, "
           "ZWEBPAGE, ZIDENTIFIER, ZCAMERA, ZCONTENT) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    database.executemany(row, [
        (1, NUMBERS["Photo"], 0, 640, 1, None, EARLY, None, None, "富士山", "https://example.com/fuji", blob(UUID),
         camera("A1", ["50 mm"]), external),
        (2, NUMBERS["Video"], 1, None, None, 1, None, 12.5, DATE, "clip", None, blob(OTHER_UUID), None, None)])
    database.executemany("INSERT INTO ZTAG VALUES (?, ?, 1, ?)", [
        (1, NUMBERS["Tag"], "mountain"), (2, NUMBERS["Tag"], "snow")])
    database.executemany("INSERT INTO Z_4TAGS VALUES (?, ?)", [(1, 1), (1, 2)])
    database.executemany("INSERT INTO ATRANSACTIONSTRING VALUES (?, 16003, NULL, ?)", [(1, "importer"), (2, "Demo")])
    database.execute(
        "INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZAUTHORTS, ZPROCESSIDTS, ZTIMESTAMP) VALUES (1, 16002, 1, 2, ?)", (DATE,))
    database.executemany("INSERT INTO ACHANGE VALUES (?, 16001, NULL, ?, ?, ?, 1, ?, NULL)", [
        (1, 0, NUMBERS["Photo"], 1, None), (2, 1, NUMBERS["Album"], 1, b"\x10")])
    if after:
        database.execute(row, (
            3, NUMBERS["Photo"], 0, 480, 1, None, None, None, None, "湖", None, bytes(range(16)), None, b"\x01\xff"))
        database.execute("UPDATE ZALBUM SET Z_OPT = 2 WHERE Z_PK = 1")
        database.execute("UPDATE ZITEM SET ZCAMERA = ?, ZCONTENT = NULL WHERE Z_PK = 1", (camera("A2", []),))
        database.execute(
            "UPDATE ZITEM SET ZIDENTIFIER = ?, ZTAKENAT1 = ?, ZSIZE1 = 13.5, ZWEBPAGE = 'file:///clip' WHERE Z_PK = 2",
            (blob("AA" * 16), EARLY))
        database.execute("DELETE FROM Z_4TAGS WHERE Z_6TAGS = 2")
        database.execute("INSERT INTO ACHANGE VALUES (3, 16001, NULL, 2, ?, 7, 1, NULL, ?)", (NUMBERS["Tag"], b"tag"))
    if namesakes:
        database.execute("ALTER TABLE ZTAG ADD COLUMN ZLABEL1 INTEGER")
    database.commit()
    database.close()


if __name__ == "__main__":
    build(sys.argv[1], "after" in sys.argv[2:], "namesakes" in sys.argv[2:])
