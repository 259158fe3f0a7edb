// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What the sources take from Apple's ObjectiveC module. Its existence alone makes `canImport(ObjectiveC)` true.

@_exported public import Foundation

public struct Selector {}

public func NSSelectorFromString(_ name: String) -> Selector { Selector() }

extension NSObject {
    public func responds(to selector: Selector!) -> Bool { false }
    public func value(forKey key: String) -> Any? { nil }
}
