"""C#, F# and Visual Basic: MSBuild files, packages.config and .nuspec, by span."""
