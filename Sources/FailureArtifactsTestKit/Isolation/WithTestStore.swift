/// Runs a test, or a part of it, with a store of its own.
///
/// ```swift
/// @Test func ripening() throws {
///     try withTestStore(SQLiteTestStore.self, .script("CREATE TABLE fruit (name TEXT)")) { store in
///         try store.execute("INSERT INTO fruit VALUES ('apple')")
///         #expect(try store.value("SELECT count(*) FROM fruit") == 1)
///     }
/// }
/// ```
///
/// The store is in a new directory, and is closed and removed after `body`. If `body` throws, this happens at the test's
/// end, after the failure has been captured.
///
/// - Parameters:
///   - type: The type of the store.
///   - content: The store's initial content.
///   - name: The store's name in a bundle.
///   - placement: The store's placement.
///   - body: A closure that takes the open store.
/// - Returns: The value that `body` returns.
/// - Throws: The error that `body` throws, or a ``TestStoreError`` if the store could not be opened or closed.
@discardableResult
public func withTestStore<Store: TestStore, Result>(
    _ type: Store.Type, _ content: StoreContent<Store> = .empty, named name: String = "store",
    placement: StorePlacement = .standard, _ body: (Store) throws -> Result
) throws -> Result {
    let stores = try IsolatedStores<Store>(named: SafeFileName.ofCurrentTest, placement: placement)
    let result: Result
    do {
        result = try body(stores.open(name, content))
    } catch {
        stores.endWithTest()
        throw error
    }
    try stores.end()
    return result
}

/// Runs an asynchronous test, or a part of it, with a store of its own.
///
/// The store is opened, closed and removed as by the synchronous function.
///
/// - Parameters:
///   - type: The type of the store.
///   - content: The store's initial content.
///   - name: The store's name in a bundle.
///   - placement: The store's placement.
///   - isolation: The actor that `body` runs on; by default the caller's.
///   - body: A closure that takes the open store.
/// - Returns: The value that `body` returns.
/// - Throws: The error that `body` throws, or a ``TestStoreError`` if the store could not be opened or closed.
@discardableResult
public func withTestStore<Store: TestStore, Result>(
    _ type: Store.Type, _ content: StoreContent<Store> = .empty, named name: String = "store",
    placement: StorePlacement = .standard, isolation: isolated (any Actor)? = #isolation,
    _ body: (Store) async throws -> Result
) async throws -> Result {
    let stores = try IsolatedStores<Store>(named: SafeFileName.ofCurrentTest, placement: placement)
    let result: Result
    do {
        result = try await body(stores.open(name, content))
    } catch {
        stores.endWithTest()
        throw error
    }
    try stores.end()
    return result
}
