internal import Coffer
package import CofferStorage
package import FoundationEssentials

/// Converts plain values and bytes.
package enum PlainBytes {
  package static func data(_ raw: UnsafeRawBufferPointer) -> Data { Data(raw) }

  /// `raw` as text; nil if it is not UTF-8.
  package static func text(_ raw: UnsafeRawBufferPointer) -> String? {
    String(validating: raw.bindMemory(to: UInt8.self), as: UTF8.self)
  }

  /// A plain value as a vault keeps it: text and bytes unchanged, others as JSON, so that a typed key can read them.
  package static func secret(_ form: PlainForm) throws -> SecretForm {
    switch form {
    case .string(let text): return try secret(text.utf8Span.span.bytes, "text/plain; charset=utf-8")
    case .argument(let text): return try secret(text.utf8Span.span.bytes, "text/plain; charset=utf-8")
    case .data(let data): return try secret(data.bytes, "application/octet-stream")
    case .date(let date): return try secret(JSONEncoder().encode(date).bytes, "application/json")
    default: return try secret(JSONText.encode(PlainFormJSON(form)).utf8Span.span.bytes, "application/json")
    }
  }

  private static func secret(_ bytes: RawSpan, _ contentType: String) throws -> SecretForm {
    try bytes.withUnsafeBytes { raw in
      SecretForm(try SecretBytes(copying: raw), metadata: ItemMetadata(contentType: contentType))
    }
  }
}
