import GRDB
import XCTest
