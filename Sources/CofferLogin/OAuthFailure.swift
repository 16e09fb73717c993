internal import CofferPlatform
internal import CofferStorage

/// A server's refusal. Source: RFC 6749, 5.2; RFC 8628, 3.5.
struct OAuthFailure {
  let code: String
  private let description: String?

  private static let longestDescription = 300

  /// - Parameter form: the request; a description that repeats one of its secrets is left out.
  init(_ answer: OAuthAnswer, _ code: String, _ form: Form) {
    // Codes are words (RFC 6749, 5.2); anything else is not printed.
    let isWord = code.utf8.count <= 64 && code.utf8.allSatisfy { $0 == UInt8(ascii: "_") || (0x61...0x7A).contains($0) }
    self.code = isWord ? code : "an unnamed error"
    description = answer.texts["error_description"].flatMap { text in
      // Source: RFC 6749, 5.2: printable ASCII. A separate line would look like one of this program's.
      let line = String(String.UnicodeScalarView(text.unicodeScalars.map { 0x20..<0x7F ~= $0.value ? $0 : "?" }))
      return form.isGivenAway(by: text) ? nil : String(line.prefix(Self.longestDescription))
    }
  }

  /// A refusal without a body, such as Glewlwyd's of an expired refresh token; nil for any other answer.
  init?(silent answer: borrowing HTTPAnswer) {
    guard [400, 401, 403].contains(answer.status), answer.body.count == 0 else { return nil }
    code = "status \(answer.status), without a reason"
    description = nil
  }

  /// - Parameter doing: the refused request, as a noun.
  func error(_ doing: String, _ place: String, cure: String) -> StoreError {
    StoreError(
      .loginRefused, "the server refused \(doing): \(code)" + (description.map { " (\($0))" } ?? ""), place: place, cure: cure)
  }

  /// - Throws: `.unreachable` for a server's own fault, or a redirect.
  static func checkReached(_ status: Int, _ place: String) throws(StoreError) {
    if status >= 500 || status == 429 {
      throw StoreError(
        .unreachable, "the server failed or is overloaded (status \(status))", place: place,
        cure: "try again later")
    }
    if (300..<400).contains(status) {
      throw StoreError(
        .damaged, "the server redirects (status \(status)), and tokens are sent only to the address given",
        place: place, cure: "give the server's current address")
    }
  }
}
