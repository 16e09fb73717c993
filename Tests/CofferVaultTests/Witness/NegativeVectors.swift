import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// `Fixtures/Vaults/v1/negative`: vaults and texts that every reader of the format refuses, and some that every reader
/// accepts.
struct NegativeVectors: Decodable {
  static let folder = Vectors.root.appending(path: "Fixtures/Vaults/v1/negative")

  /// The latest step at which a reader finds the fault.
  enum Step: String, Decodable {
    case open, verify, read
  }

  struct Edit: Decodable {
    let at: Int, hex: Digits
  }

  struct Vault: Decodable {
    struct Pins: Decodable {
      struct Pin: Decodable {
        let length: Int, edits: [Edit]
      }
      let at: Digits?, id: Pin?
    }
    /// The name of a secret in the table, or one for this vault alone.
    enum Secret: Decodable {
      case named(String), given([String: Digits])

      init(from decoder: any Decoder) throws {
        let content = try decoder.singleValueContainer()
        do { self = .named(try content.decode(String.self)) } catch is DecodingError {
          self = .given(try content.decode([String: Digits].self))
        }
      }
    }
    let name: String, wrong: String, section: String, refusal: String?, by: Step
    /// Words that another reader may give instead of `refusal`.
    let also: [String]?
    let base: String, length: Int?, edits: [Edit], sides: [String: Digits]?
    let secret: Secret, vault: String?, generation: UInt64?, invitations: [String]?, pins: Pins?
  }

  struct Text: Decodable {
    let name: String, kind: String, wrong: String, section: String, refusal: String?, hex: Digits
  }

  struct Whole: Decodable { let vault: Digits }

  let whole: Whole, secrets: [String: [String: Digits]], vaults: [Vault], texts: [Text]

  var refusals: [String: String?] {
    Dictionary(uniqueKeysWithValues: vaults.map { ($0.name, $0.refusal) } + texts.map { ($0.name, $0.refusal) })
  }

  static func read() throws -> NegativeVectors {
    try JSONDecoder().decode(NegativeVectors.self, from: Data(contentsOf: folder.appending(path: "negative.json")))
  }

  func bases() throws -> [String: [UInt8]] {
    try Dictionary(
      uniqueKeysWithValues: Set(vaults.map(\.base)).map { name in
        (name, [UInt8](try Data(contentsOf: Self.folder.appending(path: name))))
      })
  }
}

extension NegativeVectors {
  /// Bytes as hexadecimal digits; there are millions of them.
  struct Digits: Decodable {
    let bytes: [UInt8]

    init(from decoder: any Decoder) throws {
      var text = try decoder.singleValueContainer().decode(String.self)
      bytes = text.withUTF8 { digits in
        [UInt8](unsafeUninitializedCapacity: digits.count / 2) { out, count in
          for place in 0..<digits.count / 2 { out[place] = Hex.value(digits[2 * place]) << 4 | Hex.value(digits[2 * place + 1]) }
          count = digits.count / 2
        }
      }
    }
  }
}

extension NegativeVectors.Edit {
  /// `content`, cut or padded with zeros, with the edits applied.
  static func apply(_ edits: [NegativeVectors.Edit], to content: [UInt8], length: Int) -> [UInt8] {
    var bytes = Array(content.prefix(length))
    bytes += [UInt8](repeating: 0, count: length - bytes.count)
    for edit in edits { bytes.replaceSubrange(edit.at..<edit.at + edit.hex.bytes.count, with: edit.hex.bytes) }
    return bytes
  }
}

extension StoreError.Kind {
  /// The format's word for a refusal.
  var word: String {
    switch self {
    case .rolledBack: "rolled back"
    case .wrongSecret: "wrong secret"
    case .notAVault: "not a vault"
    case .newerFormat: "newer"
    case .kdfMemory: "not tried"
    default: "\(self)"
    }
  }
}
