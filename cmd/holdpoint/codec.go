package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"holdpoint/internal/app"
)

func codecCommand(c *cli) *cobra.Command {
	var s serving
	var origins []string
	cmd := &cobra.Command{
		Use: "codec", Short: "Serve the codec that shows sealed payloads in Temporal's UI and CLI",
		Long: "Opens what HOLDPOINT_ENCRYPTION_KEYS has sealed, for admins, in Temporal's protocol of remote codecs: give its\n" +
			"address as the codec endpoint to the Temporal UI, or to the Temporal CLI with --codec-endpoint and --codec-auth.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.token(c)
			return c.serve(cmd.Context(), func(ctx context.Context) (*app.App, error) {
				return app.Codec(ctx, s.o, origins)
			}, func(_ context.Context, a *app.App) error {
				_, err := fmt.Fprintln(c.out, "The codec listens at", a.URL())
				return err
			})
		},
	}
	s.o.Out, s.o.Err, s.o.Getenv, s.o.Version = c.out, c.err, c.getenv, buildVersion()
	f := cmd.Flags()
	f.StringVar(&s.o.Listen, "listen", "127.0.0.1:7410", "address of the codec; port 0 takes a free one")
	f.StringVar(&s.o.Token, "token", "", "bearer token of the admin (HOLDPOINT_TOKEN keeps it out of process lists)")
	f.StringSliceVar(&origins, "ui-origin", nil, "origin of the Temporal UI, such as http://localhost:8233; may be given several times")
	return cmd
}
