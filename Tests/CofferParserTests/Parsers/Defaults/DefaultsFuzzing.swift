#if canImport(FuzzShared)
  import FuzzShared

  @main enum Fuzzing { static func main() { run(DefaultsParsers.all) } }
#endif
