/** A user, from an identity provider. */
export interface UserIdentity {
  /** The permanent id of the user at the provider. */
  readonly id: string
  readonly username: string
  /** Empty if the provider sends none, or an unverified one. */
  readonly email: string
  readonly name: string
  /** Further headers for the service, such as the organisation that allowed the user; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}
