extension Duration {
  /// The duration for an error text, to the nearest millisecond: `200 ms`, `1.5 s`, `60 s`.
  package var inWords: String {
    let (whole, attoseconds) = components
    let milliseconds = whole * 1000 + (attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    if seconds == 0 { return "\(rest) ms" }
    guard rest != 0 else { return "\(seconds) s" }
    var decimals = String(1000 + rest).dropFirst()
    while decimals.last == "0" { decimals.removeLast() }
    return "\(seconds).\(decimals) s"
  }
}
