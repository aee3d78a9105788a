// An exec credential plugin of kubectl (client.authentication.k8s.io/v1): gets a token of the provider at PROVIDER_URL
// by the client-credentials flow. Trust comes from NODE_EXTRA_CA_CERTS.
export {};

const { PROVIDER_URL = '', CLIENT_ID = '', CLIENT_SECRET = '', KUBERNETES_EXEC_INFO = '{}' } = process.env;
const { apiVersion } = JSON.parse(KUBERNETES_EXEC_INFO) as { apiVersion: string };
const answer = await fetch(`${PROVIDER_URL}/token`, {
  method: 'POST',
  headers: { authorization: `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}` },
  body: new URLSearchParams({ grant_type: 'client_credentials' }),
});
const { access_token: token } = (await answer.json()) as { access_token: string };
console.log(JSON.stringify({ apiVersion, kind: 'ExecCredential', status: { token } }));
