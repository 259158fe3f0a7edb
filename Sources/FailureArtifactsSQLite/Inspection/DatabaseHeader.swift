/// The fields of a database file's header that this project reads or tells apart
/// (<https://www.sqlite.org/fileformat2.html#the_database_header>).
enum DatabaseHeader {
    /// The first bytes of every database that SQLite itself can read.
    static let magic = Array("SQLite format 3\0".utf8)
    /// In bytes.
    static let size = 100
}
