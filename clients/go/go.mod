module holdfast.example/clients/go

go 1.19
