// Conversions and shifts of integers that behave like the standard library's.
//
// The standard library's are generic, and a debug build specializes them. For that, it compiles up to a
// hundred functions of two conformances, to `BinaryInteger` and `FixedWidthInteger`, again in every file.
// They were most of the functions that a build of the product compiled. The compiler prefers the declarations
// below wherever this module is imported. Elsewhere, and for other types, it takes the standard library's.

extension Int {
    package init(_ value: Int32) { self.init(truncatingIfNeeded: value) }
    package init(_ value: Int64) { self.init(truncatingIfNeeded: value) }
    package init(_ value: UInt8) { self.init(truncatingIfNeeded: value) }
    package init(_ value: UInt16) { self.init(truncatingIfNeeded: value) }
    package init(_ value: UInt32) { self.init(truncatingIfNeeded: value) }

    package init(_ value: UInt64) {
        precondition(value <= UInt64(Int.max), tooLarge)
        self.init(truncatingIfNeeded: value)
    }

    package static func << (value: Int, count: Int) -> Int { value << Int64(count) }
    package static func >> (value: Int, count: Int) -> Int { value >> Int64(count) }
}

extension UInt64 {
    package static var max: UInt64 { ~0 }

    package init(_ value: Int) {
        precondition(value >= 0, negative)
        self.init(truncatingIfNeeded: value)
    }

    package init(_ value: UInt) { self.init(truncatingIfNeeded: value) }
    package init(_ value: UInt8) { self.init(truncatingIfNeeded: value) }
    package init(_ value: UInt16) { self.init(truncatingIfNeeded: value) }
    package init(_ value: UInt32) { self.init(truncatingIfNeeded: value) }

    package static func << (value: UInt64, count: Int) -> UInt64 { value << Int64(count) }
    package static func >> (value: UInt64, count: Int) -> UInt64 { value >> Int64(count) }
}

extension UInt {
    package init(_ value: UInt32) { self.init(truncatingIfNeeded: value) }

    package init(_ value: UInt64) {
        precondition(value <= UInt64(UInt.max), tooLarge)
        self.init(truncatingIfNeeded: value)
    }
}

extension Int64 {
    package init(_ value: Int) { self.init(truncatingIfNeeded: value) }
    package init(_ value: Int32) { self.init(truncatingIfNeeded: value) }
    package init(_ value: UInt16) { self.init(truncatingIfNeeded: value) }

    package static func << (value: Int64, count: Int) -> Int64 { value << Int64(count) }
}

extension UInt32 {
    package static var max: UInt32 { ~0 }

    package init(_ value: Int) {
        precondition(value >= 0, negative)
        precondition(value <= Int(UInt32.max), tooLarge)
        self.init(truncatingIfNeeded: value)
    }

    package init(_ value: UInt64) {
        precondition(value <= UInt64(UInt32.max), tooLarge)
        self.init(truncatingIfNeeded: value)
    }

    package init(_ value: UInt16) { self.init(truncatingIfNeeded: value) }

    package static func << (value: UInt32, count: Int) -> UInt32 { value << Int64(count) }
    package static func >> (value: UInt32, count: Int) -> UInt32 { value >> Int64(count) }
}

extension Int32 {
    package init(_ value: Int) {
        precondition(value >= -0x8000_0000 && value <= 0x7FFF_FFFF, tooLarge)
        self.init(truncatingIfNeeded: value)
    }
}

extension UInt16 {
    package static var max: UInt16 { ~0 }

    package static func << (value: UInt16, count: Int) -> UInt16 { value << Int64(count) }
    package static func >> (value: UInt16, count: Int) -> UInt16 { value >> Int64(count) }
}

private let negative = "A negative value has no unsigned one."
private let tooLarge = "The value does not fit."
