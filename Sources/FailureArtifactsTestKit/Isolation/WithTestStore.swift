/// Runs a part of a test, or all of it, with a store of its own.
///
/// ```swift
/// @Test(.failureArtifacts) func ripening() throws {
///     try withTestStore(SQLiteTestStore.self, .script("CREATE TABLE fruit (name TEXT)")) { store in
///         try store.execute("INSERT INTO fruit VALUES ('apple')")
///         #expect(try store.value("SELECT count(*) FROM fruit") == 1)
///     }
/// }
/// ```
///
/// The store is in a new directory, open before `body`, and closed and removed after it. If `body` throws, that
/// waits until the test has ended and its failure was captured.
///
/// - Parameters:
///   - type: What kind of store it is.
///   - content: What it holds at the start.
///   - name: What it is called in a bundle.
///   - placement: Whether it is a file or in memory.
///   - body: The test; gets the store.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws; a ``TestStoreError`` that says why the store could not be opened or closed.
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

/// Runs a part of an asynchronous test, or all of it, with a store of its own.
///
/// - Parameters:
///   - type: What kind of store it is.
///   - content: What it holds at the start.
///   - name: What it is called in a bundle.
///   - placement: Whether it is a file or in memory.
///   - isolation: Where `body` runs: where the caller does.
///   - body: The test; gets the store.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws; a ``TestStoreError`` that says why the store could not be opened or closed.
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
