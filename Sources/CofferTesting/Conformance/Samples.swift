internal import CofferMemory
internal import CofferStorage
internal import Foundation

struct Samples<R: Route>: Sendable {
  /// All different.
  let forms: @Sendable () throws -> [R.Form]
  let large: @Sendable (_ count: Int) throws -> R.Form
  let holding: @Sendable (_ text: String) throws -> R.Form
  let number: @Sendable (_ number: Int) throws -> R.Form
  let read: @Sendable (R.Form) -> Int?
  /// A value that a logout removes, with an expiry; nil if values cannot carry that.
  let ofSession: @Sendable (_ expires: Date?) throws -> R.Form?
  let isEqual: @Sendable (R.Form, R.Form) -> Bool
}

extension Samples where R == Plain {
  static let plain = Samples(
    forms: {
      [
        .bool(true), .bool(false), .integer(0), .integer(-1), .integer(.max), .integer(.min), .unsigned(.max), .real(0.1),
        .real(-1e300),
        .string(""), .string("text"), .string("a\nb\t<&>\"' é 漢 🗝\u{301}"), .date(Date(timeIntervalSince1970: 1_700_000_000)),
        .data(Data()), .data(Data(0...255)), .array([]), .array([.integer(1), .string("x"), .array([.bool(true)])]),
        .dictionary([:]), .dictionary(["a": .integer(1), "é b": .dictionary(["c": .data(Data([1]))])]),
      ]
    },
    large: { .data(Data(repeating: 7, count: $0)) },
    holding: { .string($0) },
    number: { .integer(Int64($0)) },
    read: { if case .integer(let number) = $0 { Int(number) } else { nil } },
    ofSession: { _ in nil },
    isEqual: { $0 == $1 })
}

extension Samples where R == Vault {
  static let secret = Samples(
    forms: {
      [
        try form([]), try form(Array("token".utf8)), try form(Array(0...255)),
        try form([1], ItemMetadata(label: "é 漢", contentType: "text/plain", attributes: ["env": "prod", "é": ""])),
        try form([2], ItemMetadata(expires: Date(timeIntervalSince1970: 4_000_000_000.125))),
        try form([UInt8](repeating: 9, count: 100_000)),
      ]
    },
    large: { try form([UInt8](repeating: 7, count: $0)) },
    holding: { try form(Array($0.utf8)) },
    number: { try form(Array(String($0).utf8)) },
    read: { form in form.bytes.withUnsafeBytes { Int(String(decoding: $0, as: UTF8.self)) } },
    ofSession: { try form([3], ItemMetadata(attributes: [ItemMetadata.endsWithSession: "true"], expires: $0)) },
    isEqual: { $0.bytes.isEqual(to: $1.bytes) && $0.metadata == $1.metadata })

  private static func form(_ bytes: [UInt8], _ metadata: ItemMetadata = ItemMetadata()) throws -> SecretForm {
    SecretForm(try bytes.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }, metadata: metadata)
  }
}
