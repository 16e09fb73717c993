// The entry of the programs of Tests/Fuzz, the only ones linked with libFuzzer.
#if FUZZING
  import Foundation

  /// libFuzzer's own, in C. Source: llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a library".
  @_silgen_name("LLVMFuzzerRunDriver")
  private func runDriver(
    _ count: UnsafeMutablePointer<Int32>, _ words: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
  ) -> Int32

  private nonisolated(unsafe) var chosen: Parser?

  /// Fuzzes the parser that `COFFER_PARSER` names, an environment variable because libFuzzer restarts itself to merge; or
  /// lists all.
  public func run(_ parsers: [Parser]) {
    guard let name = ProcessInfo.processInfo.environment["COFFER_PARSER"] else {
      for parser in parsers { print(parser.name, parser.longest, parser.fixtures.joined(separator: " ")) }
      return
    }
    guard let parser = parsers.first(where: { $0.name == name }) else { exit(64) }
    if CommandLine.arguments.last == "words" {
      for word in parser.words { print("\"\(word.utf8.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())\"") }
      return
    }
    chosen = parser
    var count = CommandLine.argc
    var words = CommandLine.unsafeArgv
    exit(runDriver(&count, &words, tryInput))
  }

  /// Gives one input to the parser. libFuzzer's own main, which is not used, requires this name.
  @_cdecl("LLVMFuzzerTestOneInput")
  public func tryInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    do { _ = try chosen?.accepts(Array(UnsafeBufferPointer(start: start, count: count))) } catch {
      FileHandle.standardError.write(Data("broken: \(error)\n".utf8))
      abort()
    }
    return 0
  }
#endif
