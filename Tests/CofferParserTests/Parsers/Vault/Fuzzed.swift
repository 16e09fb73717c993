#if canImport(FuzzShared)
  import FuzzShared

  @main enum Fuzzed { static func main() { run(VaultParsers.all) } }
#endif
