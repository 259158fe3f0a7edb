import GRDB

/// The database of a company with several warehouses.
package enum InventorySchema {
    package static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("2024-stock") { db in
            try db.execute(
                sql: """
                    CREATE TABLE warehouses (code TEXT PRIMARY KEY NOT NULL, city TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TABLE suppliers (
                        id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE UNIQUE, contact TEXT
                    );
                    CREATE TABLE items (
                        sku TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, supplier_id INTEGER REFERENCES suppliers(id),
                        reorder_point INTEGER, attributes_json TEXT NOT NULL DEFAULT '{}', discontinued_at REAL
                    );
                    CREATE TABLE bins (
                        warehouse_code TEXT NOT NULL REFERENCES warehouses(code), bin_no INTEGER NOT NULL,
                        capacity INTEGER NOT NULL DEFAULT 40, PRIMARY KEY (warehouse_code, bin_no)
                    ) WITHOUT ROWID;
                    CREATE TABLE stock_levels (
                        sku TEXT NOT NULL REFERENCES items(sku), warehouse_code TEXT NOT NULL,
                        quantity INTEGER NOT NULL DEFAULT 0, reserved INTEGER NOT NULL DEFAULT 0,
                        PRIMARY KEY (sku, warehouse_code)
                    ) WITHOUT ROWID;
                    CREATE TABLE movements (
                        id INTEGER PRIMARY KEY AUTOINCREMENT, sku TEXT NOT NULL, warehouse_code TEXT NOT NULL,
                        quantity INTEGER NOT NULL, delivery_note TEXT
                    );
                    CREATE TRIGGER movements_change_stock AFTER INSERT ON movements BEGIN
                        INSERT INTO stock_levels (sku, warehouse_code, quantity)
                        VALUES (new.sku, new.warehouse_code, new.quantity)
                        ON CONFLICT DO UPDATE SET quantity = quantity + excluded.quantity;
                    END;
                    CREATE VIEW stock_totals AS
                        SELECT sku, sum(quantity) AS quantity, sum(reserved) AS reserved FROM stock_levels GROUP BY sku;
                    """)
        }
        migrator.registerMigration("2025-counts") { db in
            try db.create(table: "counts", options: .withoutRowID) { t in
                t.primaryKey {
                    t.column("sku", .text)
                    t.column("counted_on", .text)
                }
                t.column("quantity", .integer).notNull()
                t.column("counted_by", .text)
            }
        }
        return migrator
    }
}
