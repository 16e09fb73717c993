internal import CofferStorage

/// Strongest first, without the values.
struct SourcesJSON: Encodable {
  let domain: String, key: String
  var sources: [Source]
  struct Source: Encodable { let layer: String, place: String, type: String }

  init(_ domain: String, _ key: String, _ explanation: Explanation) {
    self.domain = domain
    self.key = key
    sources = explanation.sources.map { Source(layer: "\($0.layer)", place: $0.place, type: $0.form.typeWord) }
  }
}
