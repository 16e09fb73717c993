extension Duration {
  /// The duration for an error text, to the millisecond: `200 ms`, `1.5 s`, `60 s`.
  package var inWords: String {
    let (seconds, attoseconds) = components
    let milliseconds = attoseconds / 1_000_000_000_000_000
    if seconds == 0 { return "\(milliseconds) ms" }
    guard milliseconds != 0 else { return "\(seconds) s" }
    var decimals = String(1000 + milliseconds).dropFirst()
    while decimals.last == "0" { decimals.removeLast() }
    return "\(seconds).\(decimals) s"
  }
}
