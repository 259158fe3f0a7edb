// Conversions and shifts of the integers that are used here, which do what the standard library's do.
//
// Those are generic, and a debug build inlines them. For that it compiles all functions by which the two types
// conform to `BinaryInteger` and `FixedWidthInteger`, up to a hundred, and again in every file: they were most of
// the functions that a build of the product compiled. The compiler prefers these wherever this module is imported;
// elsewhere, and between other types, it takes the standard library's.

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
