import { type Field, object, text } from '#base/json-fields.ts'

/** Answers of providers, never more than this of one value. */
export const MAX_VALUE = 2048
export const value = text(MAX_VALUE)

/** Some providers have written the flag as a text. */
export const verified: Field<boolean> = given => given === true || given === 'true'

/** A number where the documents say so, a text elsewhere. */
export const identifier: Field<string> = (given, name) =>
  Number.isSafeInteger(given) ? String(given) : value(given, name)

/** What a user-info endpoint of OpenID Connect tells. */
export const userInfo = object({
  sub: identifier,
  name: value,
  nickname: value,
  preferred_username: value,
  email: value,
  email_verified: verified,
})
