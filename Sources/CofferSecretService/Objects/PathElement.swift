internal import CofferPlatform

/// Text as an element of an object path, which has only ASCII letters, digits and `_`: any other byte, and `_` itself,
/// becomes `_` and two hexadecimal digits. Source: D-Bus Specification, "Valid Object Paths"; sd_bus_path_encode(3) does the
/// same.
enum PathElement {
  static func encode(_ text: String) -> String {
    guard !text.isEmpty else { return "_" }
    var element = ""
    for byte in text.utf8 {
      if byte.isLetterOrDigit {
        element.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16)
        element += "_" + (digits.utf8.count == 1 ? "0" : "") + digits
      }
    }
    return element
  }

  /// The text; nil if ``encode(_:)`` does not produce the element.
  static func decode(_ element: String) -> String? {
    if element == "_" { return "" }
    var (bytes, rest) = ([UInt8](), element.utf8[...])
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "_") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let code = UInt8(String(rest.prefix(2)) ?? "", radix: 16) else { return nil }
      bytes.append(code)
      rest = rest.dropFirst(2)
    }
    guard let text = String(validating: bytes, as: UTF8.self), encode(text) == element else { return nil }
    return text
  }
}
