/// What comparing an open vault with this machine's pin has shown.
public enum PinStatus: Sendable, Equatable {
  /// No folder for pins was given: an older copy of the whole file would not be noticed.
  case none
  /// This machine had not seen the vault before; from now on it remembers.
  case firstUse
  /// The vault is what the pin says, or newer, and the pin has been brought up to it.
  case upToDate
  /// The vault is what the pin says, or newer, and cannot be written here: comparing it has left the pin as it was.
  case unchanged
  /// The vault is what the pin says, or newer, and the pin could not be brought up to it.
  case notWritten
}
