import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .defaultRun)
struct HomeSecrecyTests {
  @Test
  func `no file under a used home holds a word of any vault item, however spelled`() throws {
    let home = try Home.withVault()
    let words = [
      "zebra-service", "quokka-account", "platypus-label", "axolotl-name", "ocelot-attribute", "narwhal-value", "wombat-token",
    ]
    try home.transcript(
      "vault set \(words[0]) \(words[1]) --label \(words[2]) --attribute \(words[3])=\(words[4])", in: words[5])
    try home.transcript("set theme dark --plain")
    _ = try home.coffer("set session --domain coffer", in: Data(words[6].utf8))
    _ = try home.coffer("vault find \(words[2])")
    _ = try home.coffer("vault show \(words[0]) --json")
    try home.transcript("vault set \(words[0]) \(words[1])", in: words[5] + " changed")
    _ = try home.coffer("vault delete \(words[0]) --yes")
    try home.transcript("vault set \(words[0]) \(words[1]) --label \(words[2])", in: words[5])

    var searched = 0
    for file in FileManager.default.enumerator(atPath: home.path) ?? .init() {
      let path = "\(home.path)/\(file)"
      guard let content = FileManager.default.contents(atPath: path) else { continue }
      searched += 1
      for word in words {
        for spelling in Self.spellings(of: word) { #expect(content.range(of: spelling) == nil, "\(word) stands in \(file)") }
      }
    }
    #expect(searched >= 3, "vault, key and property list at least")
    #expect(try home.content("config/coffer.plist").contains("dark"), "the search would find what is there")
  }

  private static func spellings(of word: String) -> [Data] {
    let raw = Data(word.utf8)
    let hex = raw.map { String(format: "%02x", $0) }.joined()
    // Base64 depends on the word's place modulo 3; the ends of each form mix with the neighbors.
    let base64 = (0..<3).map { Data((Data(repeating: 65, count: $0) + raw).base64EncodedString().dropFirst(4).dropLast(4).utf8) }
    return [raw, Data(hex.utf8), Data(hex.uppercased().utf8)] + base64
      + [word.data(using: .utf16LittleEndian), word.data(using: .utf16BigEndian)].compactMap(\.self)
  }
}
