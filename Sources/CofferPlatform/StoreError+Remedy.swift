extension StoreError {
  /// The step that an error's ``cure`` advises, finer than its kind. The library's cure names its own calls; a program around the
  /// library that has commands for the same steps names those.
  ///
  /// The raw values cross the agent's wire.
  package enum Remedy: String, Sendable, CaseIterable {
    // The vault.
    /// Make a vault, or name another one.
    case makeVault
    /// Put back the vault that was there.
    case returnVault
    /// Put the right vault back, or accept this one.
    case acceptReplaced
    /// Find the newer vault, or accept this older one.
    case acceptOlder
    /// Find the other copy of the vault, or accept this one.
    case acceptFork
    /// Write to the vault itself, or accept that it was moved here.
    case acceptMoved
    /// Check which vault stands at the path, and accept it: the pin of the path is unreadable.
    case acceptAtPath
    /// Check that the vault is the newest one, and accept it: its pin is unreadable.
    case acceptUnpinned
    /// Say which vault to expect.
    case expectVault
    /// Give an invitation along with the word that the vault is right.
    case acceptInvited
    /// Copy the items to a new vault, or restore a backup.
    case copyItems
    /// Copy the items to a new vault, and remove this one.
    case leaveVault
    /// Give a backup instead of a vault in use.
    case giveBackup
    /// Give the secret of a backup's time.
    case giveBackupSecret
    /// Restore to another path, or replace the current vault.
    case replaceVault
    /// Restore a newer backup, or accept the older key.
    case acceptOlderKey
    /// Take over a newer copy, or accept one under an older key.
    case acceptOlderCopy
    /// Restore a backup, or rebuild the vault from the records that open.
    case rebuild
    /// Ask for a recipient's text again.
    case askRecipient
    /// Make or refresh the mirror.
    case makeMirror
    /// Remove the file in the mirror's place, and make the mirror.
    case remakeMirror
    /// Open it as a mirror.
    case openMirror
    /// Do it where the vault itself is.
    case leaveMirror
    /// Try again when the server can be reached, or read a mirror.
    case readMirror

    // The agent.
    /// Start an agent.
    case startAgent
    /// Unlock the agent.
    case unlockAgent
    /// Lock the agent, and unlock the right vault.
    case relockAgent
    /// End the agent of another version, and start one of this.
    case restartAgent
    /// End the agent that does not answer, or leave it out.
    case replaceAgent
    /// Look at the agent that runs, or end it.
    case endAgent
    /// Ask the agent how it is.
    case askAgent
    /// Leave the agent of another vault out.
    case leaveAgentOut
    /// Find out whose the other end of the socket is.
    case distrustAgent
    /// Use one version at both ends.
    case oneVersion
  }
}
