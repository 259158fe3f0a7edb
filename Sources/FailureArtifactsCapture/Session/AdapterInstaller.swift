/// A class that installs an adapter to a library, if a product with that adapter is linked.
///
/// It is found by its name, so that the other adapters need not know it.
package protocol AdapterInstaller: AnyObject {
    static func install()
}
