/// Text that is written piece by piece, and never held in memory as a whole.
package protocol WrittenText {
    func write(_ write: (String) throws -> Void) throws
}
