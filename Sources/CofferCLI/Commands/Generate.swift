internal import ArgumentParser
internal import CofferStorage
internal import CofferTerminal

struct GenerateCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "generate", abstract: "Print a random password, or a passphrase of words, and how many bits it has.",
    discussion: """
      Without options: 32 letters, digits, - and _ (192 bits). Every result is as likely as any other; the bits are said on \
      standard error. 'coffer set … --generate' stores one without showing it.
      """)

  static var idleOptions: Set<String> { ["yes", "home", "vault"] }

  @OptionGroup var recipe: RecipeOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let (value, bits) = try recipe.make()
    if options.json { return try JSONText.write(JSONText.encode(["bits": bits]), "value", value.bytes) }
    context.note("\(RecipeOptions.text(bits)) bits of entropy")
    try Output.write(value.bytes)
    try Output.write("\n")
  }
}
