import CofferStorage
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct SecrecyTests {
  @Test func `no part of an item stands in any file`() throws {
    let place = try TemporaryVault()
    let words = [
      "service.example", "account-name", "a-label-text", "attribute-key", "attribute-text", "text/x-canary",
      "the-value-itself",
    ]
    let metadata = ItemMetadata(label: words[2], contentType: words[5], attributes: [words[3]: words[4]])
    let vault = try place.create()
    let name = try ItemName(service: words[0], account: words[1])
    try vault.set(form(words[6], metadata), for: name)
    try vault.set(form(words[6] + " again", metadata), for: name)
    try vault.remove(name)
    try vault.set(form(words[6], metadata), for: name)
    try expectNone(of: words, in: place)
    _ = try vault.lock()
    try expectNone(of: words, in: place)
  }

  private func expectNone(of words: [String], in place: TemporaryVault) throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: place.folder.string)
    #expect(files.contains("vault.sqlite"))
    for file in files {
      let content = try Data(contentsOf: URL(fileURLWithPath: place.folder.appending(file).string))
      for word in words {
        for spelling in spellings(of: word) {
          #expect(content.range(of: spelling) == nil, "\(word) stands in \(file)")
        }
      }
    }
  }

  private func spellings(of word: String) -> [Data] {
    let raw = Data(word.utf8)
    let hex = raw.map { String(format: "%02x", $0) }.joined()
    // Base64 of a word inside other text depends on its place modulo 3: the middle of each form is searched.
    let base64 = (0..<3).map { shift -> Data in
      let text = (Data(repeating: 65, count: shift) + raw).base64EncodedString()
      return Data(text.dropFirst(4).dropLast(4).utf8)
    }
    return [raw, Data(hex.utf8), Data(hex.uppercased().utf8)] + base64
      + [word.data(using: .utf16LittleEndian), word.data(using: .utf16BigEndian)].compactMap(\.self)
  }
}
