/** Who somebody is, as an identity provider says. */
export interface Identity {
  /** What the provider knows the user by, for ever. */
  readonly id: string
  readonly username: string
  /** Empty where the provider does not tell, or does not vouch for it. */
  readonly email: string
  readonly name: string
  /** Further headers for the service behind, such as the organisation that let the user in; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}
