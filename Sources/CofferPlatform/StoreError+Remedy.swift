extension StoreError {
  /// The step that an error's ``cure`` advises, finer than its kind. The library's cure names its own calls; a program
  /// around the library names its own commands.
  ///
  /// The raw values cross the agent's socket.
  package enum Remedy: String, Sendable, CaseIterable {
    // The vault.
    /// Make a vault, or name another one.
    case makeVault
    case returnVault
    /// Return the right vault, or accept this one.
    case acceptReplaced
    /// Find the newer vault, or accept this older one.
    case acceptOlder
    /// Find the other copy, or accept this one.
    case acceptFork
    /// Write to the vault itself, or accept that it was moved here.
    case acceptMoved
    /// Check which vault is at the path, and accept it: the path's pin is unreadable.
    case acceptAtPath
    /// Check that the vault is the newest, and accept it: its pin is unreadable.
    case acceptUnpinned
    /// State the expected vault.
    case expectVault
    /// Give an invitation, and confirm that the vault is right.
    case acceptInvited
    /// Copy the items to a new vault, or restore a backup.
    case copyItems
    /// Copy the items to a new vault, and remove this one.
    case leaveVault
    case giveBackup
    /// Give the secret from the backup's time.
    case giveBackupSecret
    /// Restore to another path, or replace the current vault.
    case replaceVault
    /// Restore a newer backup, or accept the older key.
    case acceptOlderKey
    /// Take a newer copy, or accept an older key.
    case acceptOlderCopy
    /// Restore a backup, or rebuild the vault from the readable records.
    case rebuild
    /// Ask for a recipient's text again.
    case askRecipient
    /// Make or refresh the mirror.
    case makeMirror
    /// Remove the file at the mirror's path, and make the mirror.
    case remakeMirror
    case openMirror
    /// Do it at the vault itself.
    case leaveMirror
    /// Try again when the server is reachable, or read a mirror.
    case readMirror
    /// Find out why a remote is older, or accept it.
    case acceptRemote
    /// Choose one of two keys of a vault.
    case chooseKey

    // The agent.
    /// Do it without the agent, which withholds the key.
    case leaveWithholding
    case startAgent
    case unlockAgent
    /// Lock the agent, and unlock the right vault.
    case relockAgent
    /// Replace the agent of another version.
    case restartAgent
    /// Replace an agent that does not answer, or do without it.
    case replaceAgent
    /// Inspect the running agent, or end it.
    case endAgent
    case askAgent
    /// Do without the agent of another vault.
    case leaveAgentOut
    /// Find out who owns the other end of the socket.
    case distrustAgent
    /// Use one version at both ends.
    case oneVersion
  }
}
