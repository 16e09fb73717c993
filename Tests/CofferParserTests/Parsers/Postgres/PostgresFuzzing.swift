#if canImport(FuzzShared)
  import FuzzShared

  @main enum Fuzzing { static func main() { run(PostgresParsers.all) } }
#endif
