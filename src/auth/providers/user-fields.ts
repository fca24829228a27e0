import { type FieldReader, object, text } from '#base/json-fields.ts'

/** Maximum length of one value of a provider response. */
const MAX_VALUE = 2048
export const value = text(MAX_VALUE)

/** Some providers send the flag as a string. */
export const verified: FieldReader<boolean> = given => given === true || given === 'true'

/** A number or a string, depending on the provider. */
export const identifier: FieldReader<string> = (given, name) =>
  Number.isSafeInteger(given) ? String(given) : value(given, name)

/** User data of an OpenID Connect userinfo endpoint. */
export const userInfo = object({
  sub: identifier,
  name: value,
  nickname: value,
  preferred_username: value,
  email: value,
  email_verified: verified,
})
