package import CofferStorage
package import FoundationEssentials

package enum PlainBytes {
  package static func data(_ raw: UnsafeRawBufferPointer) -> Data { Data(raw) }

  package static func text(_ raw: UnsafeRawBufferPointer) -> String? {
    String(validating: raw.bindMemory(to: UInt8.self), as: UTF8.self)
  }

  /// A plain value in a vault: text and bytes unchanged, others as JSON, so that typed keys can read them.
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
