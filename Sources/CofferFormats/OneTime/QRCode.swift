internal import CCofferLibraries
package import CofferMemory
internal import CofferPlatform
internal import CofferTerminal

/// A value as a QR code, made by libqrencode, which is loaded on demand.
///
/// libqrencode works in its own memory, which is never wiped but for the code itself.
package struct QRCode: ~Copyable {
  /// The light modules around the code: 4 by ISO 18004, and 2 that cameras accept.
  private static let margins = [4, 2]
  /// The most bytes of a code with the least correction. Source: ISO 18004, table 7, version 40-L.
  private static let most = 2953

  private let library: coffer_libqrencode
  private let code: UnsafeMutablePointer<coffer_qrcode>

  /// - Throws: `.notFound` if libqrencode is not installed; a usage failure for a value that is empty or too long.
  package init(_ value: borrowing SecretBytes) throws {
    var reason: UnsafePointer<CChar>?
    guard let table = coffer_libqrencode_load(&reason) else {
      throw StoreError(
        .notFound, "libqrencode, which makes QR codes, is not installed (\(reason.map { String(cString: $0) } ?? ""))",
        cure: "install libqrencode4")
    }
    guard 1...Self.most ~= value.count else {
      throw Failure.usage("a QR code holds 1 to \(Self.most) bytes, and the value has \(value.count)", try: "coffer get -c")
    }
    let library = table.pointee
    let made = value.withUnsafeBytes { raw in
      raw.bindMemory(to: UInt8.self).baseAddress.flatMap { library.encode(Int32(raw.count), $0, 0, 0) }
    }
    guard let made else {
      throw StoreError(.io(errno), "libqrencode could not make the QR code", cure: "coffer get -c, which copies the value")
    }
    (self.library, code) = (library, made)
  }

  deinit {
    code.pointee.data.update(repeating: 0, count: width * width)
    library.free(code)
  }

  private var width: Int { Int(code.pointee.width) }

  /// The code for a screen of `columns` and `rows`, two modules above each other in a cell. Black on white, whatever colors
  /// the terminal has.
  ///
  /// - Throws: a usage failure if it does not fit.
  package func text(columns: Int, rows: Int) throws -> SecretBytes {
    let side = { [width] (margin: Int) in width + 2 * margin }
    guard let margin = Self.margins.first(where: { side($0) <= columns && (side($0) + 1) / 2 <= rows }) else {
      let least = side(Self.margins[Self.margins.count - 1])
      throw Failure.usage(
        "the QR code takes \(least) columns and \((least + 1) / 2) lines, and the terminal has \(columns) and \(rows)",
        try: "a larger window, or a smaller font")
    }
    return try SecretBytes.written { write in
      for row in stride(from: -margin, to: width + margin, by: 2) {
        "\u{1B}[\((row + margin) / 2 + 1);1H\u{1B}[38;5;16;48;5;231m".utf8.forEach(write)
        for column in -margin..<width + margin {
          let cell =
            switch (isDark(column, row), isDark(column, row + 1)) {
            case (true, true): "█"
            case (true, false): "▀"
            case (false, true): "▄"
            case (false, false): " "
            }
          cell.utf8.forEach(write)
        }
        "\u{1B}[0m\u{1B}[K".utf8.forEach(write)
      }
      let lines = (side(margin) + 1) / 2
      if lines < rows { "\u{1B}[\(lines + 1);1HEnter closes it. ".utf8.forEach(write) }
    }
  }

  private func isDark(_ column: Int, _ row: Int) -> Bool {
    guard 0..<width ~= column, 0..<width ~= row else { return false }
    return code.pointee.data[row * width + column] & 1 == 1
  }

  /// Shows the code until Enter, on a screen of its own, of which nothing stays.
  ///
  /// - Throws: a usage failure where no code can be drawn; the failures of ``text(columns:rows:)``.
  package func show() throws {
    guard Output.isTerminal, Display.output.isUnicode, Terminal.hasScreen, let terminal = Terminal() else {
      throw Failure.usage("a QR code is drawn at a terminal with UTF-8", try: "coffer get -c, which copies the value")
    }
    try terminal.show { size in try text(columns: size.columns, rows: size.rows) }
  }
}
