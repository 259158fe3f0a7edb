// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The declarations of Apple's ObjectiveC module that the sources use. Its existence makes
// `canImport(ObjectiveC)` true.

@_exported public import Foundation

public struct Selector {}

public func NSSelectorFromString(_ name: String) -> Selector { Selector() }

extension NSObject {
    public func responds(to selector: Selector!) -> Bool { false }
    public func value(forKey key: String) -> Any? { nil }
}
