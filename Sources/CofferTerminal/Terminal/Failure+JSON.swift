extension Failure {
  package var json: String {
    let hide = Printable.withoutPasswords
    return JSONText.encode(
      Report(
        error: Report.Body(
          kind: kind, message: hide(what), cure: cure.map(hide), key: key.map(hide), place: place.map(hide),
          code: status.rawValue, detail: detail.map(hide))))
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
