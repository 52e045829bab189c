/** The nonce that styles added by libraries need: the policy of the page forbids all others. */
export const styleNonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
