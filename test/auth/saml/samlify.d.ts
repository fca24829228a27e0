// What the tests call of samlify. Its own types bring in those of a browser, which differ from Node's.
interface Metadata {
  getEntityID(): string
  getAssertionConsumerService(binding: string): string | string[]
}
interface Message {
  readonly context: string
}
interface Parsed {
  readonly extract: Record<string, unknown>
}
interface Request {
  readonly query?: Record<string, string>
  readonly body?: Record<string, string>
  readonly octetString?: string
}
export interface ServiceProviderInstance {
  readonly entityMeta: Metadata
}
export interface IdentityProviderInstance {
  readonly entityMeta: Metadata
  getMetadata(): string
  createLoginResponse(
    service: ServiceProviderInstance,
    request: object,
    binding: string,
    user: object,
    options: { readonly customTagReplacement: (template: string) => { id: string; context: string } },
  ): Promise<Message>
  createLogoutRequest(service: ServiceProviderInstance, binding: string, user: object): Message
  parseLoginRequest(service: ServiceProviderInstance, binding: string, request: Request): Promise<Parsed>
  parseLogoutResponse(service: ServiceProviderInstance, binding: string, request: Request): Promise<Parsed>
}
export declare function setSchemaValidator(validator: { validate(xml: string): Promise<string> }): void
export declare function IdentityProvider(options: object): IdentityProviderInstance
export declare function ServiceProvider(options: object): ServiceProviderInstance
export declare const SamlLib: { replaceTagsByValue(template: string, tags: Record<string, unknown>): string }
