// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The declarations of Apple's ObjectiveC module that the sources use. Its existence makes
// `canImport(ObjectiveC)` true.
//
// The comment before each declaration names its source; see XCTest.swift.

@_exported public import Foundation

// not read: https://developer.apple.com/documentation/objectivec/selector
public struct Selector {}

// not read: https://developer.apple.com/documentation/foundation/nsselectorfromstring(_:)
public func NSSelectorFromString(_ name: String) -> Selector { Selector() }

extension NSObject {
    // not read: https://developer.apple.com/documentation/objectivec/nsobjectprotocol/responds(to:)
    public func responds(to selector: Selector!) -> Bool { false }
    // not read: https://developer.apple.com/documentation/objectivec/nsobject-swift.class/value(forkey:)
    public func value(forKey key: String) -> Any? { nil }
}
