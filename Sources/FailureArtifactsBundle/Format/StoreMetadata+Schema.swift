package import FailureArtifactsSQLite

extension BundleMetadata.Store {
    /// Takes over what was read of the copy's schema.
    package mutating func setSchema(_ schema: StoreSchema) {
        self.schema = schema.objects.map {
            SchemaObject(type: $0.type, name: $0.name, table: $0.table, sql: $0.sql)
        }
        schemaOmitted = schema.omitted > 0 ? schema.omitted : nil
    }
}
