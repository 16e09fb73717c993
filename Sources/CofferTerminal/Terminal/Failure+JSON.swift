extension Failure {
  /// One line for programs.
  package var json: String {
    JSONText.encode(
      Report(
        error: Report.Body(kind: kind, message: what, cure: cure, key: key, place: place, code: status.rawValue, detail: detail)))
  }

  private struct Report: Encodable {
    let error: Body
    struct Body: Encodable {
      let kind: String, message: String
      @OrNull var cure: String?
      @OrNull var key: String?
      @OrNull var place: String?
      let code: Int32
      let detail: String?
    }
  }
}
