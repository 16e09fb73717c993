import CofferPlatform
import Testing

@testable import CofferSync
@testable import CofferVaultFormat

@Suite struct PieceNameTests {
  private let hash = PlainHash.digest([1, 2, 3])

  @Test func `names are read as they are written`() {
    for name in [
      PieceName.head(HeadName(generation: 12, hash: hash)), .head(HeadName(generation: 1 << 62, hash: hash)), .group(hash),
    ] {
      #expect(PieceName(name.description) == name)
    }
    #expect(PieceName.group(hash).description == "o/\(hash)")
    #expect(PieceName.head(HeadName(generation: 12, hash: hash)).description == "h/12-\(hash)")
  }

  @Test func `another spelling of a name is no name`() {
    let upper = hash.description.uppercased()
    let wrong = [
      "", "h", "h/", "o/", "o/\(upper)", "o/\(hash)0", "o/\(hash.description.dropLast())", "O/\(hash)", "o//\(hash)",
      "o/.\(hash)",
      "h/\(hash)", "h/12", "h/012-\(hash)", "h/+12-\(hash)", "h/-12-\(hash)", "h/0-\(hash)", "h/12-\(upper)", "h/12-\(hash)-1",
      "h/12-\(hash).sync-conflict", "h/\((1 as UInt64) << 62 + 1)-\(hash)", "h/99999999999999999999-\(hash)", "../o/\(hash)",
      "h/12-\(String(repeating: "0", count: 100_000))", " o/\(hash)", "o/\(hash)\n",
    ]
    for text in wrong { #expect(PieceName(text) == nil, "\(text.prefix(100))") }
  }
}
