internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal

/// The source of a value: standard input unless an option names another.
struct ValueOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Take the value from this file.", valueName: "path")) var file: String?

  @Option(help: ArgumentHelp("Take the value from this open descriptor.", valueName: "n")) var fd: Int32?

  @Flag(help: "Take the value from standard input; the default unless that is a terminal.") var stdin = false

  @Flag(help: "Generate a random value: by default 32 letters, digits, - and _.") var generate = false

  @OptionGroup var recipe: RecipeOptions

  @Flag(help: "Keep the newline of one piped line; allow an empty value.") var exact = false

  func validate() throws {
    guard [file != nil, fd != nil, stdin, generate].filter(\.self).count <= 1 else {
      throw ValidationError("give one source of the value: --file, --fd, --stdin or --generate")
    }
    guard recipe.isEmpty || generate else {
      throw ValidationError("--length, --words, --separator, --classes and --no-look-alikes need --generate")
    }
  }

  var isExplicit: Bool { file != nil || fd != nil || stdin || generate }

  /// Whether the value comes from standard input, not from a prompt.
  var usesStandardInput: Bool { stdin || fd == 0 || file == "-" || (!isExplicit && isatty(STDIN_FILENO) == 0) }

  func claimInput(_ context: Context) throws(Failure) { if usesStandardInput { try context.input.claim(for: "the value") } }

  func read(_ prompt: String, _ context: Context) throws -> SecretBytes {
    if generate {
      let (value, bits) = try recipe.make()
      context.note("generated: \(RecipeOptions.text(bits)) bits of entropy")
      return try value.bytes.duplicate()
    }
    if let file, file != "-" {
      return try checked(try SecretReader.file(file, limit: SecretReader.largestValue, what: "the value"))
    }
    if usesStandardInput || fd != nil {
      let descriptor = fd ?? STDIN_FILENO
      let given = try SecretReader.given(
        descriptor, limit: SecretReader.largestValue, what: "the value",
        place: descriptor == 0 ? "standard input" : "descriptor \(descriptor)")
      return try exact ? given : checked(given.withoutNewlineOfOneLine())
    }
    guard let terminal = Terminal() else {
      throw Failure.usage("there is no value", try: "standard input, --file PATH, --fd N or --generate")
    }
    return try terminal.newSecret(prompt)
  }

  /// An empty input usually means a failed command before the pipe: storing it takes --exact.
  private func checked(_ value: consuming SecretBytes) throws -> SecretBytes {
    guard exact || value.count > 0 else {
      throw Failure.usage("the value is empty", try: "--exact to store an empty value; nothing was stored")
    }
    return value
  }
}
