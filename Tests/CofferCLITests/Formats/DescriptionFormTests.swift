import CofferStorage
import CofferVault
import Foundation
import Testing

@testable import CofferCLI

@Suite struct DescriptionFormTests {
  private static func item(_ metadata: ItemMetadata) throws -> VaultItem {
    let moment = Date(timeIntervalSince1970: 0)
    return VaultItem(
      id: UUID(), name: try ItemName(service: "s"), metadata: metadata, created: moment, modified: moment, written: moment,
      revision: 1, valueBytes: 0)
  }

  /// The whole form once became one comment line, which silently cleared the description.
  @Test func `an editor that ends lines with a carriage return and a newline changes what was changed and nothing else`() throws {
    let item = try Self.item(ItemMetadata(label: "Mail", attributes: ["user": "ann", "env": "prod"]))
    let edited = DescriptionForm.text(of: item).replacing("label: Mail", with: "label: Post").replacing("\n", with: "\r\n")
    let read = try DescriptionForm.read(edited, of: item)
    #expect(read == ItemMetadata(label: "Post", attributes: ["user": "ann", "env": "prod"]))
  }

  @Test(arguments: ["\\\u{301}", "=\u{338}", "a\\\u{301}=\u{338}b", "\r\n", "\n\u{301}", "\\", "\\n"])
  func `a form that nobody changed says what was said`(text: String) throws {
    let metadata = ItemMetadata(label: text, contentType: text, attributes: ["a" + text: text])
    let read = try DescriptionForm.read(DescriptionForm.text(of: Self.item(metadata)), of: Self.item(metadata))
    #expect(read.label.utf8.elementsEqual(text.utf8) && read.contentType.utf8.elementsEqual(text.utf8))
    #expect(read.attributes.map { Array($0.key.utf8) } == [Array("a".utf8) + text.utf8])
    #expect(read.attributes.first?.value.utf8.elementsEqual(text.utf8) == true)
  }
}
